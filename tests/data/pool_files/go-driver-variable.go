package sample

import (
	"time"

	"github.com/jinzhu/gorm"
	_ "github.com/jinzhu/gorm/dialects/mysql"
)

func Open() (orm *gorm.DB) {
	kind := "mysql"
	user := "sample"
	orm, err := gorm.Open(kind, user+"@/sample?parseTime=True")
	if err != nil {
		panic(err.Error())
	}
	// the most idle connections
	orm.DB().SetMaxIdleConns(10)

	// the most open connections
	orm.DB().SetMaxOpenConns(100)

	orm.DB().SetConnMaxLifetime(time.Hour)
	return orm
}
