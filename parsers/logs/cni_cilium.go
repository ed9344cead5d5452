package logs

var ciliumMessages []logrusMessage
