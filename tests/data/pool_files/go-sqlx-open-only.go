package sample

import (
	"fmt"

	"github.com/jmoiron/sqlx"
)

func main() {
	address := "sample@tcp(db:3306)/sample?parseTime=True"
	handle, err := sqlx.Connect("mysql", address)
	if err != nil {
		fmt.Println("no connection:", err)
		return
	}

	handle.SetMaxOpenConns(20)

}
