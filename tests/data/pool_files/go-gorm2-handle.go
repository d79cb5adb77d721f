package sample

import (
	"fmt"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

func main() {
	address := "sample@tcp(db:3306)/sample"
	orm, err := gorm.Open(mysql.Open(address), &gorm.Config{})
	if err != nil {
		fmt.Println(err)
	}
	handle, err := orm.DB()

	handle.SetMaxIdleConns(10)
	handle.SetMaxOpenConns(100)
	handle.SetConnMaxLifetime(time.Hour)
}
