package bolt

import (
	"bytes"
	"errors"
	"fmt"
)

// visit is told of each key of a bucket, in order.
type visit func(key, value []byte, isBucket bool) error

// bucket goes through the bucket that a value is.
func (p *pages) bucket(value []byte, visit visit) error {
	const head = 16
	if len(value) < head {
		return errors.New("a bucket is cut short")
	}
	if root := machine.Uint64(value); root != 0 {
		return p.tree(root, nil, nil, visit)
	}
	return leaf(value[head:], nil, nil, visit)
}

// tree goes through a page and those below it. All their keys are from low up to, not including, high; nil is no bound.
func (p *pages) tree(id uint64, low, high []byte, visit visit) error {
	page, err := p.read(id)
	if err != nil {
		return err
	}
	if machine.Uint16(page[8:]) == branchPage {
		return p.branch(id, page, low, high, visit)
	}
	if err := leaf(page, low, high, visit); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (p *pages) branch(id uint64, page, low, high []byte, visit visit) error {
	elements, err := elementsOf(page)
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	if len(elements) == 0 {
		return fmt.Errorf("page %d: nothing is below it", id)
	}
	keys := make([][]byte, len(elements), len(elements)+1)
	for i, e := range elements {
		if keys[i], _, err = e.at(e.number(0), e.number(4), 0); err != nil {
			return fmt.Errorf("page %d: %w", id, err)
		}
	}
	if err := ascend(keys, low, high); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	keys = append(keys, high)
	for i, e := range elements {
		if err := p.tree(machine.Uint64(e[8:]), keys[i], keys[i+1], visit); err != nil {
			return err
		}
	}
	return nil
}

func leaf(page, low, high []byte, visit visit) error {
	if len(page) < pageHead || machine.Uint16(page[8:]) != leafPage {
		return errors.New("it holds no keys")
	}
	elements, err := elementsOf(page)
	if err != nil {
		return err
	}
	keys := make([][]byte, len(elements))
	for i, e := range elements {
		key, value, err := e.at(e.number(4), e.number(8), e.number(12))
		if err != nil {
			return err
		}
		flags := e.number(0)
		if flags > 1 {
			return fmt.Errorf("a key with the flags %#x", flags)
		}
		if err := visit(key, value, flags == 1); err != nil {
			return err
		}
		keys[i] = key
	}
	return ascend(keys, low, high)
}

// element is a page from one of its elements on.
type element []byte

func elementsOf(page []byte) ([]element, error) {
	const size = 16
	elements := make([]element, machine.Uint16(page[10:]))
	for i := range elements {
		at := pageHead + i*size
		if at+size > len(page) {
			return nil, errors.New("its elements do not fit")
		}
		elements[i] = page[at:]
	}
	return elements, nil
}

func (e element) number(at int) uint64 { return uint64(machine.Uint32(e[at:])) }

// at is the key at that position, and the value behind it.
func (e element) at(position, keySize, valueSize uint64) (key, value []byte, err error) {
	behind := position + keySize
	if behind+valueSize > uint64(len(e)) {
		return nil, nil, errors.New("a key or value does not fit")
	}
	return e[position:behind], e[behind : behind+valueSize], nil
}

func ascend(keys [][]byte, low, high []byte) error {
	for i, key := range keys {
		switch {
		case i == 0 && low != nil && bytes.Compare(key, low) < 0,
			i > 0 && bytes.Compare(keys[i-1], key) >= 0,
			high != nil && bytes.Compare(key, high) >= 0:
			return errors.New("its keys are out of order")
		}
	}
	return nil
}
