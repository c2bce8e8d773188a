import { render } from 'preact'
import { App } from './app.tsx'
import { keepFocus } from './components/focus-keeper.ts'
import { applyTheme } from './components/theme.ts'

// The worker that colours files loads the script of the pages too, and has no document.
if (typeof document !== 'undefined') start()

function start(): void {
  const root = document.getElementById('app')
  if (!root) throw new Error('the page has no place for the application')
  applyTheme()
  // Replaces what the server wrote for readers without a script.
  root.replaceChildren()
  keepFocus(root)
  render(<App />, root)
}
