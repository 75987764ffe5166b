import { checkCondition, evaluateCondition } from './cel/condition-tasks.js'
import { taskRunner } from './task-runner.js'

export default taskRunner({ 'check-condition': checkCondition, 'evaluate-condition': evaluateCondition })
