# Formula for Homebrew. `make release-snapshot` fills in VERSION and the sums:
# dist/probe-forensics.rb.
class ProbeForensics < Formula
  desc "Explains from journals, must-gathers and captures why Kubernetes probes failed"
  homepage "https://github.com/probe-forensics/probe-forensics"
  version "VERSION"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "BASE/probe-forensics_VERSION_darwin_arm64.tar.gz"
      sha256 "SUM_darwin_arm64"
    end
    on_intel do
      url "BASE/probe-forensics_VERSION_darwin_amd64.tar.gz"
      sha256 "SUM_darwin_amd64"
    end
  end

  on_linux do
    on_arm do
      url "BASE/probe-forensics_VERSION_linux_arm64.tar.gz"
      sha256 "SUM_linux_arm64"
    end
    on_intel do
      url "BASE/probe-forensics_VERSION_linux_amd64.tar.gz"
      sha256 "SUM_linux_amd64"
    end
  end

  def install
    bin.install "probe-forensics"
    man1.install "probe-forensics.1"
    generate_completions_from_executable(bin/"probe-forensics", "completion", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match "duplicate-pod-ip", shell_output("#{bin}/probe-forensics rules")
  end
end
