package sample

import (
	"os"
	"time"

	"example.test/sample/common"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

func openMain() error {
	db, err := gorm.Open(mysql.Open(os.Getenv("SAMPLE_DSN")), &gorm.Config{})
	if err != nil {
		return err
	}
	sqlDB, err := db.DB()
	if err != nil {
		return err
	}
	sqlDB.SetMaxIdleConns(common.GetEnvOrDefault("SAMPLE_MAX_IDLE", 100))
	sqlDB.SetMaxOpenConns(common.GetEnvOrDefault("SAMPLE_MAX_OPEN", 1000))
	sqlDB.SetConnMaxLifetime(time.Second * time.Duration(common.GetEnvOrDefault("SAMPLE_MAX_LIFETIME", 60)))
	return nil
}

func openLog() error {
	// the second pool is opened only when its own address is given
	if os.Getenv("SAMPLE_LOG_DSN") == "" {
		return nil
	}
	db, err := gorm.Open(mysql.Open(os.Getenv("SAMPLE_LOG_DSN")), &gorm.Config{})
	if err != nil {
		return err
	}
	sqlDB, err := db.DB()
	if err != nil {
		return err
	}
	sqlDB.SetMaxIdleConns(common.GetEnvOrDefault("SAMPLE_MAX_IDLE", 100))
	sqlDB.SetMaxOpenConns(common.GetEnvOrDefault("SAMPLE_MAX_OPEN", 1000))
	sqlDB.SetConnMaxLifetime(time.Second * time.Duration(common.GetEnvOrDefault("SAMPLE_MAX_LIFETIME", 60)))
	return nil
}
