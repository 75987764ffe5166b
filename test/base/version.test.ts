import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { VERSION } from '../../src/base/version.js'

test('the version is that of package.json', async (t) => {
  t.equal(VERSION, JSON.parse(readFileSync('package.json', 'utf8')).version)
})
