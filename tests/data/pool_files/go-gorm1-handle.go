package sample

import (
	_ "github.com/go-sql-driver/mysql"
	"github.com/jinzhu/gorm"
)

func main() {
	orm, err := gorm.Open("mysql", "sample@(db:3306)/sample?parseTime=True")
	if err != nil {
		panic(err)
	}
	defer orm.Close()
	orm.DB().SetMaxIdleConns(10)
	orm.DB().SetMaxOpenConns(100)
}
