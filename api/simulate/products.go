package simulate

import (
	"context"

	"rangegate/api/endpoint"
	"rangegate/catalog"
)

// exampleCatalogue is what the reference shows.
var exampleCatalogue = catalog.Catalogue{
	Time: []catalog.Product{{
		ID: "time", DisplayName: "Lane time", Price: "0.40", MaxQty: 120, MinQty: 15, IncrementBy: 15,
	}},
	Targets: []catalog.Product{},
	Ammo: []catalog.Product{{
		ID: "9mm-box-50", DisplayName: "9 mm, box of 50", Price: "24.50", MaxQty: 10, MinQty: 1, IncrementBy: 1,
		PictureURL: "https://pos.example.com/9mm.jpg",
	}},
	Rentals: []catalog.Product{},
}

// query is whose products of which type are asked for.
type query struct {
	of      catalog.Type
	session string
}

func readSession(in *endpoint.Input) string {
	return in.Header("session-id", 255, "Passed on to the products API; without it, none is")
}

func readType(in *endpoint.Input) query {
	return query{
		of: catalog.Type(in.PathOneOf("type", "The type of the products", string(catalog.Ammo), string(catalog.Targets),
			string(catalog.Rentals), string(catalog.Time))),
		session: readSession(in),
	}
}

func (h Handlers) all(ctx context.Context, session string) (catalog.Catalogue, error) {
	products, err := h.ProductsOf(ctx)
	if err != nil {
		return catalog.Catalogue{}, err
	}
	return products.All(ctx, session)
}

func (h Handlers) ofType(ctx context.Context, q query) ([]catalog.Product, error) {
	products, err := h.ProductsOf(ctx)
	if err != nil {
		return nil, err
	}
	return products.Fetch(ctx, q.of, q.session)
}
