/** The application: the sign-in, or the navigation and the screen that the address names. */

import { Frame } from './frame.tsx'
import { session } from './session.ts'
import { SignIn } from './sign-in.tsx'
import { Toasts } from './toasts.tsx'

export function App() {
  const who = session.value
  return (
    <>
      {who === undefined ? <div class="waiting" /> : who === null ? <SignIn /> : <Frame />}
      <Toasts />
    </>
  )
}
