module troika

go 1.19
