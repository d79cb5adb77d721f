package sample

import (
	"time"

	"github.com/jinzhu/gorm"
	_ "github.com/jinzhu/gorm/dialects/mysql"
)

func Connect() *gorm.DB {
	KIND, USER, NAME := "mysql", "sample", "sample"
	ADDRESS := USER + "@tcp(db:3306)/" + NAME
	orm, err := gorm.Open(KIND, ADDRESS)

	orm.DB().SetMaxIdleConns(10)
	orm.DB().SetMaxOpenConns(100)
	orm.DB().SetConnMaxLifetime(5 * time.Minute)

	if err != nil {
		panic(err.Error())
	}
	return orm
}
