// What the products API answers, fetched when it is first looked at.
const shelf = document.querySelector("#shelf");
const types = ["time", "targets", "ammo", "rentals"];

shelf.closest("details").addEventListener("toggle", fill, { once: true });

async function fill() {
  try {
    const lists = await Promise.all(types.map(async (type) => {
      const response = await fetch(`products?type=${type}`);
      return response.text();
    }));
    shelf.replaceChildren(...lists.flatMap((list) => JSON.parse(list, keepDigits)).map(card));
  } catch (cause) {
    shelf.textContent = `The products could not be had: ${cause.message}.`;
  }
}

// A price is shown with the digits that are on the wire: 3.00, not 3.
function keepDigits(key, value, context) {
  return key === "price" ? (context?.source ?? value) : value;
}

function card(product) {
  const made = document.createElement("figure");
  const picture = new Image(160, 160);
  picture.src = new URL(product.picture_url).pathname;
  picture.alt = "";
  const caption = document.createElement("figcaption");
  const name = document.createElement("b");
  name.textContent = product.display_name;
  const price = document.createElement("span");
  price.textContent = product.id === "time" ? `${product.price} a minute` : product.price;
  caption.append(name, price);
  made.append(picture, caption);
  return made;
}
