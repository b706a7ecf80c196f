// The products, fetched when their section is opened first.
const section = document.querySelector("#products");
const types = ["time", "targets", "ammo", "rentals"];

section.closest("details").addEventListener("toggle", fill, { once: true });

async function fill() {
  try {
    const lists = await Promise.all(types.map(async (type) => {
      const response = await fetch(`products?type=${type}`);
      return response.text();
    }));
    section.replaceChildren(...lists.flatMap((list) => JSON.parse(list, keepDigits)).map(card));
  } catch (cause) {
    section.textContent = `The products could not be loaded: ${cause.message}.`;
  }
}

// Keeps a price as it was sent: 3.00, not 3.
function keepDigits(key, value, context) {
  return key === "price" ? (context?.source ?? value) : value;
}

function card(product) {
  const figure = document.createElement("figure");
  const picture = new Image(160, 160);
  picture.src = new URL(product.picture_url).pathname;
  picture.alt = "";
  const caption = document.createElement("figcaption");
  const name = document.createElement("b");
  name.textContent = product.display_name;
  const price = document.createElement("span");
  price.textContent = product.id === "time" ? `${product.price} a minute` : product.price;
  caption.append(name, price);
  figure.append(picture, caption);
  return figure;
}
