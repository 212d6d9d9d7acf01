module example.org/desktop-assistant/examples/tools/agenda

go 1.26.5

require (
	github.com/ChannelMeter/iso8601duration v0.0.0-20150204201828-8da3af7a2a61 // indirect
	github.com/apognu/gocal v0.9.1 // indirect
	github.com/teambition/rrule-go v1.8.2 // indirect
	go.uber.org/goleak v1.3.0 // indirect
)
