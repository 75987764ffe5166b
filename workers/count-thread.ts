import { countTokens } from './count-tokens.js'
import { taskRunner } from './task-runner.js'

export default taskRunner({ 'count-tokens': countTokens })
