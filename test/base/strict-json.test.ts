import fc from 'fast-check'
import { test } from 'tap'
import { ownMember, parseStrictJsonObject } from '../../src/base/strict-json.js'

const read = (text: string | Uint8Array) => parseStrictJsonObject(Buffer.from(text as string))

const REFUSED: Readonly<Record<string, string | Uint8Array>> = {
  nothing: '',
  'no JSON': '{a:1}',
  'something after it': '{} {}',
  'an array': '[]',
  'a text': '"{}"',
  null: 'null',
  'a byte order mark': '\ufeff{}',
  'no UTF-8': Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d),
  'an overlong slash': Uint8Array.of(0x7b, 0x22, 0xc0, 0xaf, 0x22, 0x3a, 0x31, 0x7d),
  'an encoded surrogate': Uint8Array.of(0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d),
  'a name twice': '{"a":1,"a":1}',
  'a name twice, far apart': '{"a":1,"b":{"a":2,"c":[{"a":3}]},"a":4}',
  'a name twice, deep inside': '{"x":[1,[{"y":{"a":1,"b":2,"a":3}}]]}',
  'a name twice, spelled differently': '{"sub":1,"\\u0073ub":2}',
  'an empty name twice': '{"":1,"":2}',
  'a name twice with quotes in it': '{"a\\"":1,"a\\"":2}',
  'prototype twice': '{"__proto__":1,"__proto__":2}',
  'a name twice between spaces': ' { "a" : [ ] , "a" : { } } ',
}

for (const [what, text] of Object.entries(REFUSED)) {
  void test(`${what} is refused`, async (t) => {
    t.equal(read(text), null)
  })
}

const ACCEPTED: readonly string[] = [
  '{}',
  ' {"a":1}\n',
  '{"a":{"a":{"a":1}}}',
  '{"a":[{"b":1},{"b":1}],"b":"a"}',
  '{"a":"a","b":["a","a"],"c":"\\"a\\":1,\\"a\\":2"}',
  '{"a\\\\":1,"a":"\\\\","b":"}"}',
  '{"a":"{","b":"[","c":","}',
  '{"a":1,"A":2}',
]

void test('an object with every member named once is what JSON.parse makes of it', async (t) => {
  for (const text of ACCEPTED) t.strictSame(read(text), JSON.parse(text), text)
})

void test('any JSON object is read, and refused once one of its names stands in it twice', async (t) => {
  const object = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(object, fc.string(), fc.jsonValue(), (value, name, other) => {
      const text = JSON.stringify(value)
      t.strictSame(read(text), JSON.parse(text))
      const pair = `${JSON.stringify(name)}:${JSON.stringify(other)}`
      const twice = `{${pair},"other name":${text},${pair}}`
      t.equal(read(`{"outer":[${twice}]}`), null)
    }),
    { numRuns: 500 },
  )
})

void test('very deep nesting is read without recursion', async (t) => {
  const deep = 200_000
  t.not(read(`{"a":${'['.repeat(deep)}${']'.repeat(deep)}}`), null)
  t.equal(read(`{"a":${'{"a":'.repeat(1000)}{"b":1,"b":1}${'}'.repeat(1000)}}`), null)
})

void test('a member is never what an object inherits', async (t) => {
  const object = read('{"__proto__":{"sub":"x"},"own":1}')!
  t.equal(ownMember(object, 'own'), 1)
  t.equal(ownMember(object, 'sub'), undefined)
  t.equal(ownMember(object, 'constructor'), undefined)
  t.equal(ownMember(object, 'toString'), undefined)
})
