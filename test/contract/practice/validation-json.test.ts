/** contract/practice 2: what counts as JSON, and the traps around it. */
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { words } from '../../support/data/words.js'
import {
  BODY_OPERATIONS,
  type BodyOperation,
  ITEM_OPERATIONS,
} from '../../support/models/practice-operations.js'
import { refused, refusedAsNoJson, violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { client } = await practiceServer()
await client.write('POST', '/api/v1/items', { name: 'item 1' })

function send({ method, path }: BodyOperation, body: string | Uint8Array): Promise<HttpReply> {
  return client.send({ method, path, headers: { 'Content-Type': 'application/json' }, body })
}

/** The first text field of an operation, which is required. */
function textField({ name }: BodyOperation): string {
  return name === 'hash' ? 'data' : 'name'
}

const VALID: Readonly<Record<string, string>> = {
  create_item: '{"name":"é😀\\n\\u00e9","description":"d","price":1.5e1,"x":[true,false,null,{"y":-0.5}]}',
  update_item: ' { "name" : "n" , "price" : 10 } ',
  hash: '{"data":"é\\"","rounds":1.0e0,"x":{"y":[[]]}}',
}

const NO_JSON = [
  ' ',
  '\n\t ',
  'x',
  'undefined',
  'NaN',
  'Infinity',
  '{',
  '}',
  '{]',
  '{"name":}',
  '{"name":"x",}',
  '{"name":"x"}}',
  '{"name":"x"} {}',
  '{"name":"x"},',
  "{'name':'x'}",
  '{name:"x"}',
  '{"name":"x" "price":1}',
  '{"name":"x";"price":1}',
  '{"name":"x"/* */}',
  '{"name":"x"}// end',
  '{"name":"a\nb"}',
  '{"name":"a\tb"}',
  '{"name":"a\u0000b"}',
  '{"name":"\\x41"}',
  '{"name":"\\u12"}',
  '{"name":"\\ud83d\\u"}',
  '{"name":"x","price":01}',
  '{"name":"x","price":+1}',
  '{"name":"x","price":.5}',
  '{"name":"x","price":1.}',
  '{"name":"x","price":1e}',
  '{"name":"x","price":0x10}',
  '{"name":"x","price":1_000}',
  '{"name":"x","price":NaN}',
  '{"name":"x","price":Infinity}',
  '{"name":"x","price":-}',
  '{"name":"x"}\u0000',
  '{"name":"x"}\u00a0',
  '[1,]',
  'name=x&price=1',
]

for (const operation of BODY_OPERATIONS) {
  const { name, success } = operation
  const field = textField(operation)
  const ask = (body: string | Uint8Array): Promise<HttpReply> => send(operation, body)

  test(`${name} refuses what is no JSON, with one violation`, async (t) => {
    for (const body of NO_JSON) {
      refusedAsNoJson(t, await ask(body), Buffer.byteLength(body), JSON.stringify(body))
    }
  })

  test(`${name} refuses a body cut at any byte`, async (t) => {
    const whole = Buffer.from(VALID[name]!.trim())
    t.equal((await ask(whole)).status, success, 'the whole is fine')
    refused(t, await ask(whole.subarray(0, 0)), [violation.missing(['body'])], 'cut at byte 0')
    for (let end = 1; end < whole.length; end++) {
      refusedAsNoJson(t, await ask(whole.subarray(0, end)), end, `cut at byte ${end}`)
    }
  })

  test(`${name} takes JSON with white space around and between`, async (t) => {
    t.equal((await ask(`\r\n\t ${VALID[name]} \n`)).status, success)
  })

  test(`${name} refuses a byte order mark at offset 0`, async (t) => {
    refused(t, await ask(`\ufeff${VALID[name]}`), [violation.noJson(0)], 'UTF-8')
    const utf16 = Buffer.from(`\ufeff${VALID[name]}`, 'utf16le')
    refusedAsNoJson(t, await ask(utf16), utf16.length, 'UTF-16')
  })

  test(`${name} refuses invalid UTF-8 anywhere in the body`, async (t) => {
    const sequences = words('ff c3 c328 e282 c080 eda080 edb080 f4908080 f8888080 80 fe')
    for (const hex of sequences) {
      const broken = Buffer.from(hex, 'hex')
      const inValue = Buffer.concat([Buffer.from(`{"${field}":"`), broken, Buffer.from('"}')])
      refusedAsNoJson(t, await ask(inValue), inValue.length, `${hex} in a value`)
      const inName = Buffer.concat([Buffer.from(`{"${field}":"x","`), broken, Buffer.from('":1}')])
      refusedAsNoJson(t, await ask(inName), inName.length, `${hex} in an unknown name`)
      const atEnd = Buffer.concat([Buffer.from(`{"${field}":"x"}`), broken])
      refusedAsNoJson(t, await ask(atEnd), atEnd.length, `${hex} after the end`)
    }
    refusedAsNoJson(t, await ask(Buffer.from('ff', 'hex')), 1, 'nothing else')
  })

  test(`${name} takes the last of duplicate fields`, async (t) => {
    const good = await ask(`{"${field}":5,"${field}":"last"}`)
    t.equal(good.status, success)
    if (field === 'name') t.equal((good.json as { name: string }).name, 'last')
    const bad = await ask(`{"${field}":"first","${field}":5}`)
    refused(t, bad, [violation.noString(['body', field])], 'the last is wrong')
    const escaped = await ask(
      `{"${field}":5,"\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}":"x"}`,
    )
    t.equal(escaped.status, success, 'the last one is spelled with an escape')
  })

  test(`${name} is not taken in by names from an object's prototype`, async (t) => {
    for (const body of [
      `{"__proto__":{"${field}":"x"}}`,
      `{"constructor":{"prototype":{"${field}":"x"}}}`,
      `{"prototype":{"${field}":"x"}}`,
    ]) {
      refused(t, await ask(body), [violation.missing(['body', field])], body)
    }
    for (const name of words('__proto__ constructor toString hasOwnProperty valueOf __defineGetter__')) {
      const body = `{"${field}":"x","${name}":{"price":-1,"rounds":-1,"polluted":true}}`
      t.equal((await ask(body)).status, success, body)
    }
    refused(t, await ask('{}'), [violation.missing(['body', field])], 'nothing was polluted')
  })

  test(`${name} refuses lone surrogates in its fields and ignores them elsewhere`, async (t) => {
    const fields = name === 'hash' ? ['data'] : ['name', 'description']
    for (const member of fields) {
      for (const surrogate of [
        '\\ud800',
        '\\udc00',
        '\\udbff',
        'a\\uD83D',
        '\\ude00\\ud83d',
        '\\ud83d\\ud83d\\ude00',
      ]) {
        const members = { [field]: 'x' }
        const rest = JSON.stringify(members).slice(1)
        const body = `{"${member}":"${surrogate}"${member in members ? '}' : `,${rest}`}`
        refused(t, await ask(body), [violation.noString(['body', member])], body)
      }
    }
    for (const body of [`{"${field}":"x","other":"\\ud800"}`, `{"${field}":"x","\\udc00":1}`]) {
      t.equal((await ask(body)).status, success, body)
    }
    t.equal((await ask(`{"${field}":"\\ud83d\\ude00"}`)).status, success, 'a pair is a character')
  })

  test(`${name} survives deep nesting`, async (t) => {
    const deep = '['.repeat(30_000) + ']'.repeat(30_000)
    refused(t, await ask(deep), [violation.noObject(['body'])], 'as the body')
    const asField = await ask(`{"${field}":${deep}}`)
    refused(t, asField, [violation.noString(['body', field])], 'as a field')
    t.equal((await ask(`{"${field}":"x","other":${deep}}`)).status, success, 'as an unknown field')
    const objects = `${'{"a":'.repeat(9_000)}1${'}'.repeat(9_000)}`
    t.equal((await ask(`{"${field}":"x","other":${objects}}`)).status, success, 'objects')
    refusedAsNoJson(t, await ask('['.repeat(60_000)), 60_000, 'never closed')
    const tooDeep = '['.repeat(100_000) + ']'.repeat(100_000)
    t.equal((await ask(tooDeep)).status, 413, 'beyond the body limit')
  })

  test(`${name} survives very many members`, async (t) => {
    const members = Array.from({ length: 5_000 }, (_, i) => `"k${i}":${i}`).join()
    t.equal((await ask(`{${members},"${field}":"x"}`)).status, success)
    refused(t, await ask(`{${members}}`), [violation.missing(['body', field])], 'without the field')
  })
}

test('where the offset is named it counts bytes', async (t) => {
  const cases: readonly [string, number][] = [
    ['{"name":"x",}', 12],
    ['{"é":1,}', 8],
    ['{"😀":1,}', 10],
    ['{"name":"x" "price":1}', 12],
    ['{', 1],
    ['{"name":"x"', 11],
    ['{"é":"x"', 9],
    ['{"name":"a\nb"}', 10],
  ]
  for (const [body, offset] of cases) {
    const reply = await send(ITEM_OPERATIONS[0]!, body)
    refused(t, reply, [violation.noJson(offset)], body)
  }
})

test('the offset comes from the fault, never from text in the body', async (t) => {
  // Each breaks at the given byte and holds words that read like the parser's own message.
  const cases: readonly [string, number][] = [
    ['x at position 3', 0],
    ['[1, x in JSON at position 2]', 4],
    ['{"name":"at position 9","price":x}', 32],
  ]
  for (const [body, offset] of cases) {
    const reply = await send(ITEM_OPERATIONS[0]!, body)
    const named = (reply.json as { detail: { loc: unknown[] }[] }).detail[0]!.loc[1]
    t.ok(named === 0 || named === offset, `${body}: ${String(named)} is neither 0 nor ${offset}`)
  }
})
