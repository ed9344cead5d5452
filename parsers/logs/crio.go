package logs

var crioMessages []logrusMessage
