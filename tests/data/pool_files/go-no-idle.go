package sample

import (
	"database/sql"
	"log"

	_ "github.com/go-sql-driver/mysql"
)

var handle *sql.DB

func main() {
	handle, err := sql.Open("mysql", "sample@tcp(db:3306)/sample")
	defer handle.Close()
	if err != nil {
		log.Fatalln(err)
	}
	// <= 0: no idle connection is kept
	handle.SetMaxIdleConns(0)
	// 0, the default: no limit
	handle.SetMaxOpenConns(30)
	show()
}
