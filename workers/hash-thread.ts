import { pbkdf2 } from './pbkdf2.js'
import { taskRunner } from './task-runner.js'

export default taskRunner({ pbkdf2 })
