import { render } from 'preact'
import { App } from './app.tsx'
import { keepFocus } from './components/focus-keeper.ts'

const root = document.getElementById('app')
if (!root) throw new Error('the page has no place for the application')
// Replaces what the server wrote for readers without a script.
root.replaceChildren()
keepFocus(root)
render(<App />, root)
