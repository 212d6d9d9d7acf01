module example.org/desktop-assistant/proto

go 1.26.5
