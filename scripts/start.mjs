// `npm start`: sets the clone up, then serves in the same process, so that signals reach the
// server.
import { pathToFileURL } from 'node:url'
import { bundlePath } from './setup/bundle.mjs'
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(() => setUp('serve'))
if (!process.argv.some((argument) => argument.startsWith('--ssh-listen')))
  process.stderr.write('Git over SSH is off. --ssh-listen 127.0.0.1:2222 switches it on.\n')
process.setSourceMapsEnabled(true)
process.argv = [process.execPath, bundlePath, 'serve', ...process.argv.slice(2)]
await import(pathToFileURL(bundlePath).href)
