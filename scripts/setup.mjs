// `npm run setup`: sets the clone up without starting the server.
import { explainFailure } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

await explainFailure(() => setUp('serve'))
