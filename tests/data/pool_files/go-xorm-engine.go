package sample

import (
	"fmt"

	_ "github.com/go-sql-driver/mysql"
	"github.com/go-xorm/xorm"
)

// closed when the program ends
var Engine *xorm.Engine

func init() {
	var err error
	Engine, err = xorm.NewEngine("mysql", "sample@tcp(db:3306)/sample")
	if err != nil {
		fmt.Println("no connection")
	}
	Engine.SetMaxOpenConns(2000)
	Engine.SetMaxIdleConns(100)
}
