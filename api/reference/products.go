package reference

import (
	"github.com/getkin/kin-openapi/openapi3"

	"rangegate/api/endpoint"
	"rangegate/catalog"
)

// Product is a product in a response of the integrator's products API (SPEC.md part 2). catalog.Product is
// its checked form.
type Product struct {
	ID          string  `json:"id" doc:"The integrator's product identifier; the one of type time has the id time" example:"9mm-box-50"`
	DisplayName string  `json:"display_name" doc:"Name shown to the customer" example:"9 mm, box of 50"`
	Price       float64 `json:"price" min:"0" doc:"Unit price" example:"24.50"`
	MaxQty      int     `json:"max_qty" min:"1" doc:"Maximum quantity a customer can buy; of time, a multiple of increment_by" example:"10"`
	MinQty      int     `json:"min_qty,omitempty" min:"1" doc:"Of time, the minimum in minutes; all else has 1"`
	IncrementBy int     `json:"increment_by,omitempty" min:"1" doc:"Of time, the step in minutes; all else has 1"`
	PictureURL  string  `json:"picture_url,omitempty" doc:"Image URL, or an empty string" example:"https://pos.example.com/9mm.webp"`
}

// ProductsAPI returns the document of the products API that the integrator hosts (SPEC.md 4.4), for stubs and
// generators.
func ProductsAPI() *openapi3.T {
	doc := &openapi3.T{
		OpenAPI: "3.1.0",
		Info: &openapi3.Info{
			Title: "Products API", Version: "2.1.0",
			License: &openapi3.License{Name: "Proprietary", Identifier: "LicenseRef-Proprietary"},
			Description: "What the integrator hosts so that customers can buy at the lane. The gateway asks for " +
				"one type of products at a time, waits 5 seconds (configurable), reads at most 1 MiB and follows " +
				"no redirect to another host.\n\n" +
				"A product that breaks a rule is left out, and the others stay. Pictures are lossy JPEG or WebP, " +
				"under 96 KB, at least 512 by 512 pixels, best square.",
		},
		Servers: openapi3.Servers{{URL: "{products_url}", Variables: openapi3.ServerVariables{
			"products_url": {
				Default:     "http://127.0.0.1:7070",
				Description: "The address that is configured for the range",
			},
		}}},
		Tags:       openapi3.Tags{{Name: "Products", Description: "What is for sale at a lane."}},
		Components: &openapi3.Components{Schemas: openapi3.Schemas{}, Examples: openapi3.Examples{}},
	}
	types := openapi3.NewStringSchema()
	for _, t := range catalog.Types {
		types.Enum = append(types.Enum, string(t))
	}
	doc.AddOperation("/products", "GET", &openapi3.Operation{
		Tags: []string{"Products"}, OperationID: "getProducts", Summary: "The products of one type",
		Security: &openapi3.SecurityRequirements{},
		Parameters: openapi3.Parameters{
			{Value: &openapi3.Parameter{
				Name: "type", In: openapi3.ParameterInQuery, Required: true, Description: "The type of the products",
				Example: string(catalog.Ammo), Schema: types.NewRef(),
			}},
			{Value: &openapi3.Parameter{
				Name: "session-id", In: openapi3.ParameterInHeader,
				Description: "The session whose customer is shown them, where there is one",
				Example:     endpoint.ExampleID, Schema: openapi3.NewStringSchema().NewRef(),
			}},
		},
		Responses: openapi3.NewResponses(
			openapi3.WithName("200", response("The products of the type. Of time the first counts, of the "+
				"others the first 8.",
				endpoint.Content[[]Product](doc))),
			openapi3.WithName("4XX", response("The request is not understood; the gateway takes any answer but "+
				"200 as a failure", nil)),
		),
	})
	return doc
}
