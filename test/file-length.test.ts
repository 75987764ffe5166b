import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MOST_LINES = 350

/** Files that may be longer, by name, and why each is one file. */
const LONGER: Readonly<Record<string, string>> = {}

test(`no source file has more than ${MOST_LINES} lines without a reason`, async (t) => {
  const long = ['src', 'workers', 'bench']
    .flatMap((folder) =>
      readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name}`,
      ),
    )
    .filter((path) => /\.(tsx?|css)$/.test(path))
    .filter((path) => readFileSync(`${ROOT}${path}`, 'utf8').split('\n').length - 1 > MOST_LINES)
  t.same(
    long.filter((path) => !(basename(path) in LONGER)),
    [],
    'too long: split the file, or state the reason here',
  )
  t.same(
    Object.keys(LONGER).filter((name) => !long.some((path) => basename(path) === name)),
    [],
    'short enough by now: take the exception away',
  )
})
