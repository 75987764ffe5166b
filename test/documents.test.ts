/** Lists of pages that would otherwise be forgotten when a page is added. */
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'tap'

for (const folder of ['docs/guide', 'docs/decisions']) {
  test(`the list of ${folder} names every page in its table`, async (t) => {
    const rows = readFileSync(`${folder}/README.md`, 'utf8').match(/^\| .*$/gm) ?? []
    for (const page of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
      if (page.endsWith('.md') && page !== 'README.md') t.ok(rows.join('\n').includes(`(${page})`), page)
    }
  })
}

test('the list of decisions has number, date and title of each page', async (t) => {
  const list = readFileSync('docs/decisions/README.md', 'utf8')
  const pages = readdirSync('docs/decisions').filter((page) => page !== 'README.md')
  for (const [index, page] of pages.sort().entries()) {
    const [heading = '', , state = ''] = readFileSync(`docs/decisions/${page}`, 'utf8').split('\n')
    const number = String(index + 1).padStart(4, '0')
    const [date = ''] = state.split(' · ')
    t.ok(page.startsWith(`${number}-`) && heading.startsWith(`# ${number} `), `${page}: ${heading}`)
    const title = heading.replace(/^# \d+ /, '')
    t.ok(list.includes(`| [${number}](${page}) | ${date} | ${title} |`), `${number} ${date} ${title}`)
  }
})

test('the page of clients names the versions that the tests run', async (t) => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >
  // An alias holds the name and the version of what it stands for.
  const installed = Object.entries({ ...dependencies, ...devDependencies }).map(([name, version]) =>
    version.startsWith('npm:') ? version.slice('npm:'.length) : `${name}@${version}`,
  )
  const rows = [...readFileSync('docs/guide/clients.md', 'utf8').matchAll(/^\| `(\S+)` \| (\d\S*) \|/gm)]
  t.ok(rows.length >= 14)
  for (const [, name, version] of rows) t.ok(installed.includes(`${name}@${version}`), `${name} ${version}`)
})
