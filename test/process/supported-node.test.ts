import { test } from 'tap'
import { unsupportedNode } from '../../src/process/supported-node.js'

test('a Node that is too old is told in a sentence with what to run instead', async (t) => {
  for (const version of ['14.21.3', '18.20.8', '20.9.0', '20.18.3']) {
    t.match(
      unsupportedNode(version),
      new RegExp(`^Node ${version} is older than 20\\.19: run Node 22, or Node 24 `),
    )
  }
  for (const version of ['20.19.0', '20.20.2', '22.0.0', '24.21.0', '26.1.0'])
    t.equal(unsupportedNode(version), null)
})
