import fc from 'fast-check'
import { test } from 'tap'
import { type DomainFault, type DomainFilter, domainFilter } from '../../../src/gateway/web/domains.js'

function filter(allowed: readonly string[] = [], denied: readonly string[] = []): DomainFilter {
  const made = domainFilter(allowed, denied)
  if ('problem' in made) throw new Error(`${made.list} ${made.index}: ${made.problem}`)
  return made
}

const lets = (allowed: readonly string[], denied: readonly string[], url: string): boolean =>
  filter(allowed, denied).allows(new URL(url))

const TABLE: readonly [entry: string, url: string, matches: boolean][] = [
  ['example.com', 'https://example.com/', true],
  ['example.com', 'http://EXAMPLE.com:8080/a?b', true],
  ['example.com', 'https://www.example.com/', true],
  ['example.com', 'https://a.b.example.com/', true],
  ['example.com', 'https://example.com./', true],
  ['example.com', 'https://notexample.com/', false],
  ['example.com', 'https://example.com.evil.net/', false],
  ['example.com', 'https://evil.net/example.com', false],
  ['example.com', 'https://evil.net/?q=example.com#example.com', false],
  ['example.com', 'https://examplexcom/', false],
  ['EXAMPLE.COM.', 'https://example.com/', true],
  ['https://example.com/', 'https://example.com/x', true],
  ['www.example.com', 'https://example.com/', false],
  ['*.example.com', 'https://www.example.com/', true],
  ['*.example.com', 'https://example.com/', false],
  ['example.com/blog', 'https://example.com/blog/one', true],
  ['example.com/blog', 'https://example.com/blog', true],
  ['example.com/blog/', 'https://www.example.com/blog', true],
  ['example.com/blog', 'https://example.com/blogger', false],
  ['example.com/blog', 'https://example.com/', false],
  ['example.com/blog', 'https://example.com/blog/../admin', false],
  ['bücher.example', 'https://xn--bcher-kva.example/', true],
  ['xn--bcher-kva.example', 'https://shop.bücher.example/', true],
  ['münchen.example', 'https://muenchen.example/', false],
  ['xn--80ak6aa92e.com', 'https://apple.com/', false],
  ['10.0.0.1', 'http://10.0.0.1/', true],
  ['10.0.0.1', 'http://167772161/', true],
  ['0.0.1', 'http://10.0.0.1/', false],
  ['com', 'https://example.com/', true],
  ['co.uk', 'https://a.co.uk/', true],
]

test('what a domain of a list stands for', async (t) => {
  for (const [entry, url, matches] of TABLE) {
    t.equal(lets([entry], [], url), matches, `${entry} allows ${url}`)
    t.equal(lets([], [entry], url), !matches, `${entry} denies ${url}`)
  }
  t.ok(lets([], [], 'https://anything.example/'), 'no list, no bound')
  t.notOk(lets(['example.com'], ['ads.example.com'], 'https://x.ads.example.com/'), 'denied wins')
})

test('entries that are no domain, and lists that contradict each other, are named by their place', async (t) => {
  const fault = (allowed: readonly string[], denied: readonly string[] = []) =>
    domainFilter(allowed, denied) as DomainFault
  for (const bad of [
    '',
    ' ',
    'a b',
    'user@example.com',
    'example.com:8080',
    '*',
    'a*.com',
    'http://',
    '?',
    'a..b',
  ])
    t.match(fault(['ok.example', bad]), { list: 'allowed', index: 1, problem: /must be a domain/ }, bad)
  t.match(fault([], ['#']), { list: 'denied', index: 0 })
  for (const [yes, no] of [
    ['example.com', 'example.com'],
    ['docs.example.com', 'example.com'],
    ['docs.example.com', '*.example.com'],
    ['*.example.com', 'example.com'],
    ['example.com/a', 'example.com'],
    ['EXAMPLE.com', 'example.com.'],
  ] as const)
    t.match(fault(['fine.test', yes], [no]), { list: 'allowed', index: 1, problem: /other list denies/ }, yes)
  for (const [yes, no] of [
    ['example.com', 'ads.example.com'],
    ['example.com', '*.example.com'],
    ['example.com', 'example.com/private'],
  ] as const)
    t.ok('allows' in domainFilter([yes], [no]), `${yes} without ${no}`)
  t.match(fault(Array(101).fill('a.example')), { index: 100, problem: /more than 100/ })
})

const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
const host = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'))
const entries = fc.array(host, { maxLength: 4 })

test('of any lists: whole labels decide, case and a last dot do not, and denied wins', async () => {
  fc.assert(
    fc.property(
      entries,
      entries,
      fc.array(label, { maxLength: 2 }),
      host,
      (allowed, denied, below, other) => {
        const made = domainFilter(allowed, denied)
        if ('problem' in made) return denied.length > 0
        for (const name of [...allowed, ...denied, other]) {
          const whole = [...below, name].join('.')
          const [plain, odd] = [`https://${whole}/x`, `http://${whole.toUpperCase()}.:99/y`]
          const within = (list: readonly string[]) =>
            list.some((entry) => whole === entry || whole.endsWith(`.${entry}`))
          const wanted = (allowed.length === 0 || within(allowed)) && !within(denied)
          if (made.allows(new URL(plain)) !== wanted || made.allows(new URL(odd)) !== wanted) return false
        }
        return true
      },
    ),
    { numRuns: 500 },
  )
})

test('no text makes the lists throw', async () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 3 }), fc.webUrl(), (list, url) => {
      const made = domainFilter(list, [])
      return 'problem' in made || typeof made.allows(new URL(url)) === 'boolean'
    }),
    { numRuns: 500 },
  )
})
