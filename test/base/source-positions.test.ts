import { test } from 'tap'
import { traceToSources } from '../../src/base/source-positions.js'

traceToSources()

test('a stack trace names the file of the source and the line in it', async (t) => {
  const [first = '', place = ''] = (new TypeError('wrong').stack ?? '').split('\n')
  t.equal(first, 'TypeError: wrong')
  t.match(place, /\/test\/base\/source-positions\.test\.ts:7:37\)?$/)
})

test('frames of Node and of code without a map stay as they are', async (t) => {
  let stack = ''
  JSON.parse('[1]', () => {
    stack = new Error('inside').stack ?? ''
  })
  t.match(stack, /^Error: inside\n {4}at .*source-positions\.test\.ts:/)
  t.match(stack, '    at JSON.parse (<anonymous>)')
  t.match(stack, /node:internal|node_modules/)
})

test('an error that cannot say what it is has a trace all the same', async (t) => {
  const error = new Error('hidden')
  Object.defineProperty(error, 'name', {
    get: () => {
      throw new Error('no name')
    },
  })
  t.match(error.stack, /^<error>\n {4}at /)
})
