// RFC 8785 by what it is defined by: JSON.stringify writes strings and numbers, and sort() compares
// UTF-16 code units. Reads a document in JSON a line, base64; writes their canonical forms so.
import { createInterface } from 'node:readline';

function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

// A member named __proto__ is a member like any other: JSON.parse sees to it.
for await (const line of createInterface({ input: process.stdin })) {
  const value = JSON.parse(Buffer.from(line, 'base64').toString('utf8'));
  process.stdout.write(`${Buffer.from(canonical(value)).toString('base64')}\n`);
}
