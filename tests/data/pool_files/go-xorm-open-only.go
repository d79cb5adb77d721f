package sample

import (
	_ "github.com/go-sql-driver/mysql"
	"xorm.io/xorm"
)

func NewEngine() *xorm.Engine {
	engine, err := xorm.NewEngine("mysql", "sample@tcp(db:3306)/sample")

	err = engine.Sync2(new(User))

	if err != nil {
		panic(err.Error())
	}
	engine.ShowSQL(true)
	engine.SetMaxOpenConns(10)

	return engine
}
