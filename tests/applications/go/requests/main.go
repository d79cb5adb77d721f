// Requests for a connection of database/sql, a goroutine for each, that arrive at the times of plans. DSN is the
// database. Input and output are those of tests/queue_pool_requests.py.
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

const warmUp = 200 // uses in all of a pool before its first request

type request struct {
	due, sleep        float64
	asked, got, given time.Time
}

func main() {
	lines, pools := bufio.NewScanner(os.Stdin), map[int]*sql.DB{}
	for lines.Scan() {
		size, err := strconv.Atoi(lines.Text())
		check(err)
		plan := read(lines)
		if pools[size] == nil {
			pools[size] = open(size)
		}
		begin := run(pools[size], plan)
		for _, done := range plan {
			fmt.Println(done.asked.Sub(begin).Seconds(), done.got.Sub(begin).Seconds(), done.given.Sub(begin).Seconds())
		}
		fmt.Println()
	}
}

// read returns the requests of a plan.
func read(lines *bufio.Scanner) []request {
	var plan []request
	for lines.Scan() && lines.Text() != "" {
		var each request
		_, err := fmt.Sscan(lines.Text(), &each.due, &each.sleep)
		check(err)
		plan = append(plan, each)
	}
	return plan
}

// open returns a pool, all of whose connections have been used.
func open(size int) *sql.DB {
	pool, err := sql.Open("mysql", os.Getenv("DSN"))
	check(err)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	var connections []*sql.Conn
	for range size {
		connection, err := pool.Conn(context.Background())
		check(err)
		connections = append(connections, connection)
	}
	for _, connection := range connections {
		for range warmUp / size {
			sleep(connection, 0)
		}
		connection.Close()
	}
	return pool
}

// run runs the requests, and returns the time of its begin.
func run(pool *sql.DB, plan []request) time.Time {
	var requests sync.WaitGroup
	begin := time.Now()
	for number := range plan {
		next := &plan[number]
		time.Sleep(time.Until(begin.Add(time.Duration(next.due * float64(time.Second)))))
		requests.Add(1)
		go func() {
			defer requests.Done()
			next.asked = time.Now()
			connection, err := pool.Conn(context.Background())
			next.got = time.Now()
			check(err)
			sleep(connection, next.sleep)
			connection.Close()
			next.given = time.Now()
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
