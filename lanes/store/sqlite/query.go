package sqlite

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// execute runs one statement, prepared once a connection.
func execute(c *sqlite.Conn, text string, args ...any) error {
	return query(c, text, func(*sqlite.Stmt) error { return nil }, args...)
}

// executeOnce runs one statement that is not kept.
func executeOnce(c *sqlite.Conn, text string) error { return sqlitex.ExecuteTransient(c, text, nil) }

// query runs one statement and visits its rows; an error of visit ends it. Arguments are int64, string or bool.
func query(c *sqlite.Conn, text string, visit func(row *sqlite.Stmt) error, args ...any) (err error) {
	statement, err := c.Prepare(text)
	if err != nil {
		return err
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			statement.BindInt64(i+1, v)
		case string:
			statement.BindText(i+1, v)
		case bool:
			statement.BindBool(i+1, v)
		default:
			panic(fmt.Sprintf("a %T is bound to a statement", arg))
		}
	}
	for {
		more, err := statement.Step()
		if err != nil {
			return err
		}
		if !more {
			return statement.Reset()
		}
		if err := visit(statement); err != nil {
			return errors.Join(err, statement.Reset())
		}
	}
}

// number is the one integer that a statement answers.
func number(c *sqlite.Conn, text string, args ...any) (n int64, err error) {
	err = query(c, text, func(row *sqlite.Stmt) error {
		n = row.ColumnInt64(0)
		return nil
	}, args...)
	return n, err
}

// inTransaction reads, or makes the schema, in one transaction. The writer has its own way to commit.
func inTransaction(c *sqlite.Conn, do func() error) error {
	if err := execute(c, "BEGIN"); err != nil {
		return err
	}
	if err := do(); err != nil {
		return errors.Join(err, execute(c, "ROLLBACK"))
	}
	return execute(c, "COMMIT")
}
