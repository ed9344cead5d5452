package objects

import (
	"fmt"
	"os"
	"strings"

	"cloud.google.com/go/storage"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	gocloud "gocloud.dev/blob"
)

// version is an ETag without its quotes: some stores leave them out in listings.
func version(etag string) string { return strings.Trim(etag, `"`) }

// listed is the version of an object in a listing.
func listed(o *gocloud.ListObject) string {
	var (
		s3Object  types.Object
		gcsObject storage.ObjectAttrs
		azObject  container.BlobItem
		file      os.FileInfo
	)
	switch {
	case o.As(&s3Object) && s3Object.ETag != nil:
		return version(*s3Object.ETag)
	case o.As(&gcsObject):
		return version(gcsObject.Etag)
	case o.As(&azObject) && azObject.Properties != nil && azObject.Properties.ETag != nil:
		return version(string(*azObject.Properties.ETag))
	case o.As(&file):
		return fmt.Sprintf("%x-%x", file.ModTime().UnixNano(), file.Size()) // as fileblob's ETag
	}
	return ""
}

// onlyVersion asks the store to refuse anything but that version, where a
// request can say so.
func onlyVersion(want string) func(func(any) bool) error {
	return func(as func(any) bool) error {
		quoted := `"` + want + `"`
		var (
			get      *s3.GetObjectInput
			download *azblob.DownloadStreamOptions
		)
		switch {
		case want == "":
		case as(&get):
			get.IfMatch = &quoted
		case as(&download):
			tag := azcore.ETag(quoted)
			download.AccessConditions = &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfMatch: &tag}}
		}
		return nil
	}
}

// answered is the version of what a reader reads, "" where the answer does not
// tell.
func answered(r *gocloud.Reader) string {
	var (
		get      s3.GetObjectOutput
		download blob.DownloadStreamResponse
	)
	switch {
	case r.As(&get) && get.ETag != nil:
		return version(*get.ETag)
	case r.As(&download) && download.ETag != nil:
		return version(string(*download.ETag))
	}
	return ""
}
