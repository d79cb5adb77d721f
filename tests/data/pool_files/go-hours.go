package sample

import (
	"database/sql"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

func main() {
	handle, err := sql.Open("mysql", "sample@tcp(db:3306)/sample")
	if err != nil {
		panic(err)
	}
	defer handle.Close()

	handle.SetMaxOpenConns(10)
	handle.SetMaxIdleConns(10)
	handle.SetConnMaxLifetime(10 * time.Hour)
}
