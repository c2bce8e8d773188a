// `npm start`: sets the clone up, then serves in the same process, so that signals reach the
// server.
import { pathToFileURL } from 'node:url'
import { bundlePath } from './setup/bundle.mjs'
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(() => setUp('serve'))
process.setSourceMapsEnabled(true)
process.argv = [process.execPath, bundlePath, 'serve', ...process.argv.slice(2)]
await import(pathToFileURL(bundlePath).href)
