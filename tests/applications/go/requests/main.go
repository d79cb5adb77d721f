// Requests for a connection of database/sql, a goroutine for each, that arrive at the times of a plan. The argument is
// the pool size; DSN is the database. Input and output are those of tests/queue_pool_requests.py.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"time"

	_ "github.com/go-sql-driver/mysql"
)

const warmUp = 50 // uses of each connection before the first request

type request struct {
	due, sleep        float64
	asked, got, given time.Time
}

func main() {
	size, err := strconv.Atoi(os.Args[1])
	check(err)
	pool, err := sql.Open("mysql", os.Getenv("DSN"))
	check(err)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	var plan []request
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var each request
		_, err := fmt.Sscan(lines.Text(), &each.due, &each.sleep)
		check(err)
		plan = append(plan, each)
	}
	open(pool, size)
	begin := run(pool, plan)
	for _, each := range plan {
		fmt.Println(each.asked.Sub(begin).Seconds(), each.got.Sub(begin).Seconds(), each.given.Sub(begin).Seconds())
	}
}

// open opens all connections, and uses each.
func open(pool *sql.DB, size int) {
	var connections []*sql.Conn
	for range size {
		connection, err := pool.Conn(context.Background())
		check(err)
		connections = append(connections, connection)
	}
	for _, connection := range connections {
		for range warmUp {
			sleep(connection, 0)
		}
		connection.Close()
	}
}

// run runs the requests, and returns the time of its begin.
func run(pool *sql.DB, plan []request) time.Time {
	var requests sync.WaitGroup
	begin := time.Now()
	for number := range plan {
		each := &plan[number]
		time.Sleep(time.Until(begin.Add(time.Duration(each.due * float64(time.Second)))))
		requests.Add(1)
		go func() {
			defer requests.Done()
			each.asked = time.Now()
			connection, err := pool.Conn(context.Background())
			each.got = time.Now()
			check(err)
			sleep(connection, each.sleep)
			connection.Close()
			each.given = time.Now()
		}()
	}
	requests.Wait()
	return begin
}

func sleep(connection *sql.Conn, seconds float64) {
	_, err := connection.ExecContext(context.Background(), fmt.Sprintf("DO SLEEP(%f)", seconds))
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
