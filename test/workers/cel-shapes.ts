/** Texts that are made to hurt: shape bombs and random ones. */
import fc from 'fast-check'
import type { ConditionClaims } from '../../workers/tasks.js'

const chain = (part: string, by: string, most = 2000): string =>
  Array(Math.floor((most + by.length) / (part.length + by.length)))
    .fill(part)
    .join(by)

/** Name and text, each of 2,000 characters or a little less. */
export const SHAPES: readonly (readonly [name: string, text: string])[] = [
  ['open brackets', '('.repeat(2000)],
  ['open square brackets', '['.repeat(2000)],
  ['open braces', '{'.repeat(2000)],
  ['closed brackets', `${'('.repeat(997)}true${')'.repeat(997)}`],
  ['closed lists', `${'['.repeat(999)}${']'.repeat(999)}`],
  ['maps in maps', `${'{"a":'.repeat(300)}1${'}'.repeat(300)}`],
  ['denials', `${'!'.repeat(1995)}true`],
  ['negations', `${'-'.repeat(1990)}1 == 1`],
  ['signs', chain('1', '-')],
  ['fields', chain('a', '.')],
  ['fields of a variable', `subject${'.a'.repeat(990)}`],
  ['indexes', `audience${'[0]'.repeat(660)}`],
  ['calls', `${'size('.repeat(330)}subject${')'.repeat(330)} == 1`],
  ['methods', `subject${'.trim()'.repeat(280)} == ""`],
  ['ternaries to the right', `${'true?true:'.repeat(199)}true`],
  ['ternaries in the middle', `${'true?'.repeat(199)}true${':true'.repeat(199)}`],
  ['ternaries in the test', `${'('.repeat(100)}true${'?true:true)'.repeat(100)}`],
  ['or', chain('true', '||')],
  ['and', chain('true', '&&')],
  ['equalities', chain('true', '==')],
  ['orders', chain('1', '<')],
  ['in', chain('subject', ' in ')],
  ['sums', `${chain('1', '+', 1990)} == 1`],
  ['products', `${chain('9', '*', 1990)} == 1`],
  ['texts', `${chain('subject', '+', 1990)} == ""`],
  ['lists', `${chain('audience', '+', 1990)} == []`],
  ['list of texts', `subject in [${chain('""', ',', 1980)}]`],
  ['list of 900 numbers', `1 in [${Array(900).fill('1').join(',')}]`],
  ['list of trailing commas', `[${','.repeat(1990)}]`],
  ['map', `subject in {${chain('"a":1', ',', 1980)}}`],
  ['arguments', `size(${chain('1', ',', 1980)})`],
  ['macros', chain('scopes.all(s,true)', '&&')],
  ['macros in macros', `${'scopes.all(s,'.repeat(140)}true${')'.repeat(140)}`],
  ['macros in ranges', `scopes${'.filter(s,true)'.repeat(130)} == []`],
  ['a long number', '9'.repeat(2000)],
  ['a long fraction', `0.${'9'.repeat(1990)} > 0.0`],
  ['a long exponent', `1e${'9'.repeat(1990)} > 0.0`],
  ['a long hexadecimal', `0x${'f'.repeat(1990)}`],
  ['a long unsigned', `${'9'.repeat(1999)}u`],
  ['a long name', 'a'.repeat(2000)],
  ['a long function', `${'a'.repeat(1998)}()`],
  ['a long text', `"${'a'.repeat(1998)}`],
  ['backslashes', `"${'\\\\'.repeat(999)}`],
  ['escapes', `"${'\\u0041'.repeat(330)}" == ""`],
  ['quotes', '"'.repeat(2000)],
  ['triple quotes', `"""${'"a'.repeat(995)}"""`],
  ['comment', `//${'/'.repeat(1998)}`],
  ['lines', '\n'.repeat(2000)],
  ['errors', chain('audience[99]==""', '||')],
  ['errors in a macro', `audience.all(a,${chain('1/0==1', '||', 1980)})`],
  ['emoji', '😀'.repeat(2000)],
]

const PIECES = [
  ...`subject audience scopes token_type a true false null 1 2u 0.5 "x" 'y' ( ) [ ] { } , : ?`.split(' '),
  ...'. ! - + * / % < >= == != && || .size() .contains( size( .split(":") [0] dyn( has( .matches( "'.split(
    ' ',
  ),
  ...[' in ', '.exists(a, ', '.all(a, ', '.map(a, ', '.filter(a, ', '.startsWith("x")', '{"k": 1}'],
  ...['\n', ' ', '// ', '\\'],
]

export const piece = fc.constantFrom(...PIECES)

/** Texts of up to 2,000 characters: any characters, any tokens, brackets, chains of operators, true expressions. */
export function* randomTexts(count: number, random: (n: number) => number): Generator<string> {
  const one = (from: readonly string[]): string => from[random(from.length)]!
  const filled = (next: () => string): string => {
    let text = ''
    for (let part = next(); text.length + part.length <= 2000; part = next()) text += part
    return text
  }
  const leaf = (): string =>
    one([
      'subject == "a"',
      '"b" in audience',
      'scopes.exists(s, s == "x")',
      '1 < 2',
      'size(subject) > 3',
      '!false',
    ])
  const makers: readonly (() => string)[] = [
    () => filled(() => String.fromCharCode(random(128))),
    () => filled(() => String.fromCodePoint(32 + random(0xd000))),
    () => filled(() => one(PIECES)),
    () => filled(() => one(['(', '[', '{', ')', ']', '}', '1', ','])),
    () => filled(() => one(['!', '-', '+', ' ', 'a', '1'])),
    () =>
      filled(() => one(['1', ' + ', ' - ', ' * ', ' == ', ' && ', ' || ', ' in ', ' ? ', ' : ', 'subject'])),
    () =>
      `${filled(() => leaf() + one([' && ', ' || ', '\n&& ']))
        .slice(0, 1900)
        .replace(/[^&|]*$/, '')} true`,
    () => leaf() + filled(() => one([' && ', ' || ']) + leaf()).slice(0, random(400)),
  ]
  for (let index = 0; index < count; index++) yield makers[index % makers.length]!()
}

/** Tokens at the limits. */
export function claimSets(): readonly ConditionClaims[] {
  const long = 'a'.repeat(512)
  return [
    { subject: '', audience: [], scopes: [], token_type: '' },
    { subject: long, audience: Array(8).fill(long), scopes: Array(8).fill(long), token_type: long },
    { subject: long, audience: Array(3000).fill('aaa'), scopes: Array(4).fill(long), token_type: '' },
    { subject: 'a', audience: ['a'], scopes: [], token_type: 'a'.repeat(12_000) },
  ]
}
