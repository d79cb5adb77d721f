package sample

import (
	"database/sql"
	"os"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

var pool *sql.DB

func OpenPool() {
	handle, err := sql.Open("mysql", os.Getenv("SAMPLE_USER")+"@tcp("+os.Getenv("SAMPLE_SERVER")+")/sample")
	if err != nil {
		panic(err.Error())
	}

	handle.SetConnMaxLifetime(time.Minute * 3)
	handle.SetMaxOpenConns(10)
	handle.SetMaxIdleConns(10)

	pool = handle
}
