import { BodyBlocks } from './body-blocks.js'
import { LargeAnswers } from './large-answers.js'
import { ReadingBudget } from './reading-budget.js'
import { SmallCalls } from './small-calls.js'

/** What the large bodies of one server share. Part of the native edge. */
export class LargeBodies {
  readonly smallCalls = new SmallCalls()
  readonly reading = new ReadingBudget(this.smallCalls)
  readonly answers = new LargeAnswers(this.smallCalls)
  readonly blocks = new BodyBlocks()
}
