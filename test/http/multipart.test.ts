import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { faultDetail } from '../../src/http/dialects/gateway.js'
import { boundaryOf } from '../../src/http/multipart/part-header.js'
import { type FormLimits, MultipartFields, readFileForm } from '../../src/http/multipart.js'
import type { IncomingBody } from '../../src/transport/exchange.js'
import { bodyOf, type FormPart, floodOf, formOf } from '../support/clients/incoming-body.js'

const B = 'xxBOUNDARYxx'
const TYPE = `multipart/form-data; boundary=${B}`
const LIMITS: FormLimits = { fileBytes: 10_000_000 }

interface TestWriter {
  write(piece: Uint8Array): void | Promise<void>
  abandon(): void
}

/** Reads a form whose file goes to a writer that does nothing but what is said here. */
function readForm(
  body: IncomingBody,
  writer: Partial<TestWriter> = {},
  { type = TYPE, limits = LIMITS } = {},
) {
  const call = { incoming: body, header: () => type }
  return readFileForm(call, limits, () => ({ write: () => {}, abandon: () => {}, ...writer }))
}

/** What came of a form: every field and then the file, or the sentence of its refusal. */
async function outcome(
  pieces: readonly Uint8Array[],
  { type = TYPE, limits = LIMITS, ending = 'complete' as 'complete' | 'failed' } = {},
): Promise<unknown> {
  const bytes: Buffer[] = []
  try {
    const write = async (piece: Uint8Array): Promise<void> => {
      bytes.push(Buffer.from(piece))
      await null
    }
    const { fields, file } = await readForm(bodyOf(pieces, ending), { write }, { type, limits })
    const read = fields.names.map((name) => [name, fields.single(name)])
    if (file === null) return read
    const { name, filename, contentType } = file.header
    const content = Buffer.concat(bytes)
    if (file.size !== content.length) throw new Error('the size of the file is wrong')
    if (!file.head.equals(content.subarray(0, 16))) throw new Error('the head of the file is wrong')
    return [...read, [name, filename, contentType, content.toString('latin1')]]
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    return error.kind === 'invalid-input' ? faultDetail(error) : error.kind
  }
}

const head = (more = ''): string => `--${B}\r\nContent-Disposition: form-data; name="a"${more}\r\n\r\n`
const END = `\r\n--${B}--\r\n`
const one = (text: string | Uint8Array): Uint8Array[] => [Buffer.from(text as string)]

const FORM = formOf(B, [
  { name: 'model', content: 'sim/transcribe' },
  { name: 'grün "x"'.replaceAll('"', '\\"'), content: 'é\r\n--xxBOUNDARYx\r\n--' },
  {
    name: 'file',
    filename: 'C:\\sound\\é.wav',
    type: 'audio/wav; a=b',
    content: `\r\n--${B.slice(0, -1)}\r\n\r\n--${'-'.repeat(20)}\r`,
  },
  { name: 'empty', content: '' },
  { name: 'last', content: '\r\n' },
])
const READ = [
  ['model', 'sim/transcribe'],
  ['grün "x"', 'é\r\n--xxBOUNDARYx\r\n--'],
  ['empty', ''],
  ['last', '\r\n'],
  ['file', 'é.wav', 'audio/wav', `\r\n--${B.slice(0, -1)}\r\n\r\n--${'-'.repeat(20)}\r`],
]

test('a form cut at every position reads the same', async (t) => {
  t.strictSame(await outcome([FORM]), READ)
  for (let at = 1; at < FORM.length; at++) {
    const found = await outcome([FORM.subarray(0, at), FORM.subarray(at)])
    if (JSON.stringify(found) !== JSON.stringify(READ)) t.strictSame(found, READ, `cut at ${at}`)
  }
  t.strictSame(await outcome([...FORM].map((byte) => Uint8Array.of(byte))), READ, 'byte by byte')
})

test('a form cut short at any position is refused', async (t) => {
  // The line end behind the closing boundary may be missing.
  for (let length = 0; length < FORM.length - 2; length++) {
    const found = await outcome([FORM.subarray(0, length)])
    if (typeof found !== 'string') t.fail(`accepted ${length} bytes of ${FORM.length}`)
  }
  t.match(await outcome([FORM], { ending: 'failed' }), 'bad-request')
})

test('any form in any pieces reads as what was put in, and a broken one is refused the same however it is cut', async (t) => {
  const text = fc.string({ unit: fc.constantFrom('\r', '\n', '-', 'x', 'B', '\0', 'é', ...B), maxLength: 40 })
  const part = fc.record({ name: fc.stringMatching(/^[a-z]{1,8}$/), content: text })
  const cuts = fc.array(fc.nat(400), { maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(part, { minLength: 1, maxLength: 5, selector: ({ name }) => name }),
      cuts,
      fc.nat(),
      async (parts, at, broken) => {
        fc.pre(parts.every(({ content }) => !`\r\n${content}`.includes(`\r\n--${B}`)))
        const form = formOf(B, parts)
        const sliced = (bytes: Buffer): Buffer[] => {
          const edges = [0, ...at.filter((n) => n < bytes.length).sort((a, b) => a - b), bytes.length]
          return edges.slice(1).map((end, i) => bytes.subarray(edges[i], end))
        }
        t.strictSame(
          await outcome(sliced(form)),
          parts.map(({ name, content }) => [name, content]),
        )
        const damaged = Buffer.from(form)
        damaged[broken % form.length] = (damaged[broken % form.length]! + 1 + (broken % 254)) & 255
        t.strictSame(await outcome(sliced(damaged)), await outcome([damaged]))
      },
    ),
    { numRuns: 150 },
  )
})

/** A form of one part with these header lines. */
const headed = (...lines: string[]): Uint8Array[] => one(`--${B}\r\n${lines.join('\r\n')}\r\n\r\n${END}`)
const A_FIELD = 'Content-Disposition: form-data; name=a'
const UNREADABLE = 'has a part whose header cannot be read'
const UNENDED = 'ends before its closing boundary'
const file = (filename: string, content: string | Buffer = 'x'): FormPart => ({
  name: 'file',
  filename,
  content,
})

const REFUSED: readonly (readonly [name: string, pieces: Uint8Array[], sentence: string])[] = [
  ['nothing', [], UNENDED],
  ['another boundary', one('--other\r\n\r\n'), UNENDED],
  ['no closing boundary', one(`${head()}text`), UNENDED],
  ['text behind a boundary', one(`--${B}junk\r\n\r\n`), 'has a boundary without an end of line'],
  ['no header', one(`--${B}\r\n\r\ntext${END}`), UNREADABLE],
  ['a header without an end', one(`--${B}\r\nA: b\r\n--${B}--\r\n\r\n`), UNREADABLE],
  ['a header that is no line', headed(A_FIELD, 'junk'), UNREADABLE],
  ['a folded header', headed('Content-Disposition: form-data;', ' name=a'), UNREADABLE],
  ['a boundary in a header', headed(`--${B}: x`), 'has a boundary in the header of a part'],
  ['no disposition', headed('Content-Type: text/plain'), 'has a part that is no form-data'],
  [
    'another disposition',
    headed(A_FIELD.replace('form-data', 'attachment')),
    'has a part that is no form-data',
  ],
  [
    'no name',
    headed(A_FIELD.replace('name', 'filename')),
    'has a part without a name of 1 to 256 characters',
  ],
  ['two names', one(`${head('; name="b"')}x${END}`), 'has a part with a repeated parameter'],
  ['an open quote', one(`${head('; filename="b')}x${END}`), UNREADABLE],
  [
    'a name that is no UTF-8',
    one(Buffer.from(`${head('; filename="\xff"')}x${END}`, 'latin1')),
    'has a part whose name is not UTF-8',
  ],
  [
    'two types',
    headed('Content-Type: a/b', 'Content-Type: a/b', A_FIELD),
    'has a part with a repeated header field',
  ],
  [
    'a nested form',
    headed(A_FIELD, 'Content-Type: multipart/mixed; boundary=q'),
    'has a multipart part; a form may not be nested',
  ],
  ['base64', headed(A_FIELD, 'Content-Transfer-Encoding: base64'), 'has a part in a transfer encoding'],
  [
    'a field that is no UTF-8',
    one(Buffer.concat([Buffer.from(head()), Buffer.of(255), Buffer.from(END)])),
    'has a field that is not UTF-8',
  ],
  [
    'a long field',
    one(`${head()}${'x'.repeat(64 * 1024 + 1)}${END}`),
    'has a field of more than 65536 bytes',
  ],
  [
    'a long file name',
    one(formOf(B, [file('x'.repeat(256))])),
    'has a file name of more than 255 characters',
  ],
  ['two files', one(formOf(B, [file('a'), file('b')])), 'must hold one file'],
  [
    '65 parts',
    one(formOf(B, Array<FormPart>(65).fill({ name: 'a', content: '' }))),
    'must have at most 64 parts',
  ],
]

test('what is no form, or no single one, is refused with a sentence', async (t) => {
  for (const [name, pieces, sentence] of REFUSED) {
    t.equal(await outcome(pieces), `body: ${sentence}`, name)
    const whole = Buffer.concat(pieces)
    const single = [...whole.subarray(0, 2_000)].map((byte) => Uint8Array.of(byte))
    const found = await outcome([...single, whole.subarray(2_000)])
    t.equal(found, `body: ${sentence}`, `${name}, byte by byte`)
  }
  t.equal(
    await outcome(one(formOf(B, [file('a', '12345')])), {
      limits: { ...LIMITS, fileBytes: 4 },
    }),
    'payload-too-large',
  )
})

test('the type has to name one boundary that can be', async (t) => {
  const cases: [string, string | null][] = [
    [TYPE, B],
    ['Multipart/Form-Data ; charset=utf-8 ; BOUNDARY="a b:c"', 'a b:c'],
    [`multipart/form-data; boundary=${'x'.repeat(70)}`, 'x'.repeat(70)],
    [`multipart/form-data; boundary=${'x'.repeat(71)}`, null],
    ['multipart/form-data', null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; boundary=""', null],
    ['multipart/form-data; boundary="a "', null],
    ['multipart/form-data; boundary=a; boundary=a', null],
    ['multipart/form-data; boundary="a', null],
    ['multipart/form-data; boundary=é', null],
    ['multipart/mixed; boundary=a', null],
    ['application/json', null],
    ['', null],
  ]
  for (const [type, boundary] of cases) t.equal(boundaryOf(type), boundary, type)
  t.equal(
    await outcome([], { type: 'multipart/form-data' }),
    'body: must be sent as multipart/form-data with a boundary',
  )
})

const MIB = 1024 * 1024
const pieces64 = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, i) =>
    bytes.subarray(i * 65_536, (i + 1) * 65_536),
  )

/** What this process has had of the processor: a wall clock would tell what else the machine does. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

test('bodies made to keep the server busy are refused soon', async (t) => {
  const dashes = `multipart/form-data; boundary=${'-'.repeat(70)}`
  const cases: [string, Buffer, string][] = [
    ['8 MiB of preamble', Buffer.concat([Buffer.alloc(8 * MIB, 'x'), FORM]), TYPE],
    ['8 MiB of line ends', Buffer.concat([Buffer.alloc(8 * MIB, '\r\n'), FORM]), TYPE],
    ['8 MiB of dashes', Buffer.alloc(8 * MIB, '-'), dashes],
    ['8 MiB of beginnings of a boundary', Buffer.alloc(8 * MIB, `\r\n--${'-'.repeat(69)}`), dashes],
    ['8 MiB of header', Buffer.concat([Buffer.from(`--${B}\r\nA: `), Buffer.alloc(8 * MIB, 'x')]), TYPE],
    [
      '8 MiB of header lines',
      Buffer.concat([Buffer.from(`--${B}\r\n`), Buffer.alloc(8 * MIB, 'a: b\r\n')]),
      TYPE,
    ],
    ['8 MiB of a field', Buffer.concat([Buffer.from(head()), Buffer.alloc(8 * MIB, '-')]), TYPE],
    ['8 MiB of fields', Buffer.alloc(8 * MIB, `${head()}\r\n`), TYPE],
  ]
  for (const [name, body, type] of cases) {
    for (const pieces of [[body], pieces64(body)]) {
      const begin = cpuMs()
      t.type(await outcome(pieces, { type }), 'string', `${name} is refused`)
      const ms = cpuMs() - begin
      t.ok(ms < 200, `${name} in ${pieces.length} pieces: ${ms.toFixed(0)} ms`)
    }
  }
})

test('a file of dashes, or of half boundaries, passes in time that grows with its size alone', async (t) => {
  const boundary = '-'.repeat(70)
  for (const filling of ['-', `\r\n--${'-'.repeat(69)}x`, '\r']) {
    const content = Buffer.concat([Buffer.from('x'), Buffer.alloc(8 * MIB, filling)])
    const form = formOf(boundary, [file('a', content)])
    const begin = cpuMs()
    const found = await outcome(pieces64(form), { type: `multipart/form-data; boundary=${boundary}` })
    t.ok((found as string[][])[0]?.[3] === content.toString('latin1'), 'every byte of it')
    const ms = cpuMs() - begin
    t.ok(ms < 1_000, `${ms.toFixed(0)} ms`)
  }
})

test('while a writer is behind the sender is held back, and what comes nevertheless is taken', async (t) => {
  const content = Buffer.alloc(4 * MIB, 'x')
  const form = pieces64(formOf(B, [file('a', content)]))
  let behind = 0
  let most = 0
  let written = 0
  await readForm(bodyOf(form), {
    write: async (piece) => {
      most = Math.max(most, ++behind)
      written += piece.length
      await new Promise((resolve) => setTimeout(resolve, 1))
      behind--
    },
  })
  t.equal(written, content.length)
  t.equal(most, 1, 'this sender does as it is told')
  written = 0
  let late = 0
  await readForm(floodOf(form), {
    write: async (piece) => {
      written += piece.length
      late++
      await new Promise((resolve) => setImmediate(resolve))
      late--
    },
  })
  t.equal(written, content.length, 'and this one does not')
  t.equal(late, 0, 'the form is read when its writer has caught up')
})

test('a writer that fails while it is behind is the outcome, and it is abandoned', async (t) => {
  const form = pieces64(formOf(B, [file('a', Buffer.alloc(MIB, 'x'))]))
  const boom = new Error('the disk is full')
  for (const body of [bodyOf(form), floodOf(form)]) {
    let abandoned = 0
    const failing = { write: () => Promise.reject(boom), abandon: () => void abandoned++ }
    await t.rejects(readForm(body, failing), boom)
    t.equal(abandoned, 1)
  }
})

test('a form that comes as one piece, however large, is read to its end', async (t) => {
  for (const size of [255, 256, 257, 512, 1024].map((kib) => kib * 1024)) {
    const content = Buffer.alloc(size, 'xy')
    for (const more of [[], [{ name: 'a', content: 'b' }]]) {
      const form = formOf(B, [file('a', content), ...more])
      for (const cut of [0, form.length - content.length, form.length - B.length - 8]) {
        const pieces = cut === 0 ? [form] : [form.subarray(0, cut), form.subarray(cut)]
        const found = (await outcome(pieces)) as string[][]
        t.equal(found.at(-1)?.[3]?.length, size)
        t.equal(found.length, 1 + more.length)
      }
    }
  }
})

test('what a writer throws is the outcome, and it hears nothing more but that it is abandoned', async (t) => {
  const form = pieces64(formOf(B, [file('a', Buffer.alloc(MIB)), { name: 'a', content: 'b' }]))
  let writes = 0
  let abandoned = 0
  const boom = new Error('the disk is full')
  const write = (): void => {
    if (++writes === 3) throw boom
  }
  await t.rejects(readForm(bodyOf(form), { write, abandon: () => void abandoned++ }), boom)
  await new Promise((resolve) => setImmediate(resolve))
  t.same({ writes, abandoned }, { writes: 3, abandoned: 1 })
  const call = { incoming: bodyOf(form), header: () => TYPE }
  const begin = (): never => {
    throw boom
  }
  await t.rejects(readFileForm(call, LIMITS, begin), boom, 'a writer that cannot be had, too')
})

test('a list may repeat, carry brackets, and hold commas', (t) => {
  const fields = new MultipartFields()
  const parts: FormPart[] = [
    { name: 'words', content: 'a,b' },
    { name: 'words[]', content: ' c , ,d' },
    { name: 'words', content: 'e' },
    { name: 'model', content: 'm' },
  ]
  for (const { name, content } of parts) fields.add(name, content as string)
  t.same(fields.list('words').sort(), ['a', 'b', 'c', 'd', 'e'])
  t.same(fields.list('none'), [])
  t.equal(fields.single('model'), 'm')
  t.equal(fields.single('none'), undefined)
  t.throws(() => fields.single('words'), Fault)
  t.same(fields.names, ['words', 'words[]', 'model'])
  t.end()
})
