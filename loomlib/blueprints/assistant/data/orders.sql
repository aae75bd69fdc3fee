-- Sample orders. None of these people exist.
CREATE TABLE orders (order_id TEXT PRIMARY KEY, customer TEXT, item TEXT, status TEXT, expected TEXT);
INSERT INTO orders VALUES
  ('A-1041', 'Mina Okafor', 'desk lamp', 'delivered', '2026-11-14'),
  ('A-1042', 'Jonas Weber', 'standing desk', 'in transit', '2026-11-25'),
  ('A-1043', 'Priya Raman', 'office chair', 'packed', '2026-11-27'),
  ('A-1044', 'Luis Ortega', 'monitor arm', 'cancelled', '-'),
  ('A-1045', 'Aiko Mori', 'keyboard', 'in transit', '2026-11-24');
