/** Field lines: RFC 9112 sections 2.2, 3.2 and 5, RFC 9110 sections 5 and 7.2. */
import {
  BEHIND,
  BODY,
  CHUNKS,
  CREATED,
  get,
  LENGTH,
  message,
  post,
  type RawRequest,
  READ,
  REFUSED,
  REFUSED_BUT_FRAMED,
  rows,
} from './raw-request.js'

const GET_ITEMS = 'GET /api/v1/items HTTP/1.1'
const HOST = 'Host: raw.example'
const TYPE = 'Content-Type: application/json'

/** A GET with one more line of this text; `post` of the same where a length follows. */
const line = (text: string): string => get([text])
const lines = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(table).map(([name, text]) => [name, line(text)]))

/** Bytes that no name may hold (RFC 9110 section 5.6.2). */
const NO_TOKEN: Readonly<Record<string, string>> = {
  'a blank': ' ',
  'a tab': '\t',
  'a NUL': '\0',
  'a bell': '\x07',
  'a delete': '\x7f',
  'a quote': '"',
  'an opening parenthesis': '(',
  'a closing parenthesis': ')',
  'a comma': ',',
  'a slash': '/',
  'a semicolon': ';',
  'a less-than': '<',
  'an equals sign': '=',
  'a greater-than': '>',
  'a question mark': '?',
  'an at sign': '@',
  'an opening bracket': '[',
  'a backslash': '\\',
  'a closing bracket': ']',
  'an opening brace': '{',
  'a closing brace': '}',
  'a byte of 0x80': '\x80',
  'a byte of 0xe9': '\xe9',
  'a byte of 0xff': '\xff',
}

/** Bytes that no value may hold (RFC 9110 section 5.5). */
const NO_VALUE: Readonly<Record<string, string>> = {
  'a NUL': '\0',
  'a start of heading': '\x01',
  'a bell': '\x07',
  'a backspace': '\x08',
  'a vertical tab': '\x0b',
  'a form feed': '\x0c',
  'an escape': '\x1b',
  'a bare line feed': '\n',
  'a bare carriage return': '\r',
  'two carriage returns': '\r\r',
}

const mapped = (
  table: Readonly<Record<string, string>>,
  bytes: (value: string) => string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, bytes(value)]))

const hosted = (...hosts: string[]): string => message(GET_ITEMS, hosts)
const twice = (name: string, one: string, two: string): string =>
  get([`${name}: ${one}`, `${name.toLowerCase()}: ${two}`])

export const FIELDS: readonly RawRequest[] = [
  ...rows(
    'field-name',
    REFUSED,
    mapped(NO_TOKEN, (byte) => line(`X-O${byte}ne: a`)),
  ),
  ...rows(
    'field-name',
    REFUSED,
    lines({
      empty: ': a',
      'empty, without a value': ':',
      'a blank in front of the colon': 'X-One : a',
      'a tab in front of the colon': 'X-One\t: a',
      'no colon': 'X-One',
      'no colon and a blank': 'X-One a',
      'nothing but a colon and a blank': ': ',
    }),
  ),
  ...rows('field-name', REFUSED, {
    'empty, in front of a length that holds a request': message(
      'POST /api/v1/items HTTP/1.1',
      [HOST, ': a', `Content-Length: ${BEHIND.length}`],
      BEHIND,
    ),
    'a blank in front of the colon of a length': message(
      'POST /api/v1/items HTTP/1.1',
      [HOST, TYPE, `Content-Length : ${BODY.length}`],
      BODY,
    ),
    'a tab in front of the colon of a coding': message(
      'POST /api/v1/items HTTP/1.1',
      [HOST, TYPE, 'Transfer-Encoding\t: chunked'],
      BODY,
    ),
    'a byte of 0x80 and above in front of a length': post([`\xffContent-Length: ${BODY.length}`]),
    'a NUL in front of a length': post([`\0Content-Length: ${BODY.length}`]),
    'a blank in front of the first field': message(GET_ITEMS, [` ${HOST}`]),
    'a tab in front of the first field': message(GET_ITEMS, [`\tX-One: a`, HOST]),
  }),
  ...rows(
    'field-value',
    REFUSED,
    mapped(NO_VALUE, (byte) => line(`X-One: a${byte}b`)),
  ),
  ...rows('field-value', REFUSED, {
    'a NUL in a length': post([`Content-Length: ${BODY.length}\0`]),
    'a bare carriage return behind a length': post([`Content-Length: ${BODY.length}\rX: 1`]),
    'a bare line feed that hides a length': post([LENGTH, 'X-One: a\nContent-Length: 0']),
    'a bare carriage return that hides a coding': post([LENGTH, 'X-One: a\rTransfer-Encoding: chunked']),
    'a bare line feed that hides a coding': post([LENGTH, 'X-One: a\nTransfer-Encoding: chunked']),
    'a form feed in front of chunked': post(['Transfer-Encoding: \x0cchunked'], BODY),
    'a vertical tab in front of chunked': post(['Transfer-Encoding: \x0bchunked'], BODY),
    'a vertical tab behind a length': post([`Content-Length: ${BODY.length}\x0b`]),
  }),
  ...rows('high-bytes', REFUSED, {
    'a byte of 0x80 and above in front of a length': post([`Content-Length: \xff${BODY.length}`]),
    'a byte of 0x80 and above behind a length': post([`Content-Length: ${BODY.length}\xff`]),
    'a byte of 0x80 and above in front of chunked': post(['Transfer-Encoding: \xffchunked'], CHUNKS),
    'a byte of 0x80 and above behind chunked': post(['Transfer-Encoding: chunked\xa0'], CHUNKS),
  }),
  ...rows('folded', REFUSED, {
    'a value over two lines': line('X-One: a\r\n b'),
    'a value over two lines with a tab': line('X-One: a\r\n\tb'),
    'an empty first line': line('X-One:\r\n a'),
    'a length': post([`Content-Length:\r\n ${BODY.length}`]),
    'digits of a length': post([`Content-Length: ${BODY.length}\r\n 0`]),
    'a coding': post(['Transfer-Encoding:\r\n chunked'], BODY),
    'a coding behind another': post(['Transfer-Encoding: gzip,\r\n chunked'], BODY),
    'a host': hosted('Host:\r\n raw.example'),
    'the first line behind the start line': message(GET_ITEMS, [' X: a', HOST]),
    'an empty line of blanks': line('X-One: a\r\n  '),
  }),
  ...rows('line-ends', REFUSED, {
    'bare line feeds': `${GET_ITEMS}\n${HOST}\n\n`,
    'a bare line feed behind the start line': `${GET_ITEMS}\n${HOST}\r\n\r\n`,
    'a bare line feed behind a field': `${GET_ITEMS}\r\n${HOST}\nX-One: a\r\n\r\n`,
    'a bare line feed at the end': `${GET_ITEMS}\r\n${HOST}\r\n\n`,
    'bare line feeds around a length': `POST /api/v1/items HTTP/1.1\r\n${HOST}\r\n${TYPE}\n${LENGTH}\n\r\n${BODY}`,
    'bare carriage returns': `${GET_ITEMS}\r${HOST}\r\r`,
    'a bare carriage return behind the start line': `${GET_ITEMS}\r${HOST}\r\n\r\n`,
    'two carriage returns behind a field': `${GET_ITEMS}\r\n${HOST}\r\r\n\r\n`,
    'line feed and carriage return': `${GET_ITEMS}\n\r${HOST}\n\r\n\r`,
  }),
  ...rows(
    'line-ends',
    { ...READ, right: 'either' },
    {
      'an empty line in front': `\r\n${get()}`,
      'two empty lines in front': `\r\n\r\n${get()}`,
      'a bare line feed in front': `\n${get()}`,
    },
  ),
  ...rows('host', REFUSED, {
    none: message(GET_ITEMS, ['Accept: */*']),
    'none and no field at all': `${GET_ITEMS}\r\n\r\n`,
    'two of them': hosted('Host: a', 'Host: b'),
    'two equal ones': hosted(HOST, HOST),
    'two with a field between': hosted('Host: a', 'X-Between: a', 'host: a'),
  }),
  ...rows('host', REFUSED_BUT_FRAMED, {
    ...mapped(
      {
        'a blank': 'a b',
        'a slash': 'a/b',
        'user information': 'user@a',
        'a query': 'a?b',
        'a fragment': 'a#b',
        'a backslash': 'a\\b',
        brackets: '<a>',
        'a quote': 'a"',
        'a scheme': 'http://a',
        'a list': 'a, b d',
        'a byte of 0x80 and above inside': 'a\xe9b',
        'a brace': 'a{b}',
        'a caret': 'a^b',
        'a bar': 'a|b',
      },
      (host) => hosted(`Host: ${host}`),
    ),
  }),
  ...rows('host', READ, {
    ...mapped(
      {
        name: 'raw.example',
        'a port': 'raw.example:8080',
        'an address': '127.0.0.1',
        'an address of version 6': '[::1]:80',
        'blanks around it': '  raw.example  ',
      },
      (host) => hosted(`Host: ${host}`),
    ),
    'capital letters': hosted('HOST: RAW.EXAMPLE'),
    'the last field': message(GET_ITEMS, ['X-One: a', 'X-Two: b', HOST]),
  }),
  ...rows('host', { ...READ, right: 'either' }, { empty: hosted('Host:') }),
  ...rows('singleton', REFUSED_BUT_FRAMED, {
    'two credentials': twice('Authorization', 'Bearer a', 'Bearer b'),
    'two equal credentials': twice('Authorization', 'Bearer a', 'Bearer a'),
    'two API keys': twice('X-Api-Key', 'a', 'b'),
    'two equal API keys': twice('X-Api-Key', 'a', 'a'),
    'two empty API keys': twice('X-Api-Key', '', ''),
    'two content types': post([LENGTH, 'content-type: text/plain']),
    'two equal content types': post([LENGTH, TYPE]),
  }),
  ...rows('field', READ, {
    'an empty value': line('X-One:'),
    'no blank behind the colon': line('X-One:a'),
    'every byte that a name may hold': line("x-!#$%&'*+.^_`|~09aZ: a"),
    'bytes of 0x80 and above in a value': line('X-One: a\xe9b\xff'),
    'a tab in a value': line('X-One: a\tb'),
    'a colon in a value': line('X-One: a: b'),
    'a repeated one that may repeat': get(['Accept: a', 'Accept: b']),
    'a name of a thousand bytes': line(`X-${'a'.repeat(1_000)}: a`),
    'a value of eight thousand bytes': line(`X-One: ${'a'.repeat(8_000)}`),
    'fifty fields': get(Array.from({ length: 50 }, (_, i) => `X-${i}: a`)),
    'a credential and an API key': get(['Authorization: Bearer a', 'X-Api-Key: a']),
  }),
  ...rows('field', CREATED, {
    'a length behind many fields': post([...Array.from({ length: 40 }, (_, i) => `X-${i}: a`), LENGTH]),
  }),
  ...rows(
    'field',
    { ...REFUSED, status: 431 },
    {
      'a value of seventeen thousand bytes': line(`X-One: ${'a'.repeat(17_000)}`),
      'a name of seventeen thousand bytes': line(`X-${'a'.repeat(17_000)}: a`),
      'two hundred fields': get(Array.from({ length: 200 }, (_, i) => `X-${i}: a`)),
      'forty thousand bytes of fields': get(
        Array.from({ length: 40 }, (_, i) => `X-${i}: ${'a'.repeat(1_000)}`),
      ),
    },
  ),
]
