import { forgejoApi } from 'forgejo-js'
import { tokens, url } from './calls.mjs'
import { makeCalls } from './forge-calls.mjs'

await makeCalls((username) => forgejoApi(url, { token: tokens[username] }))
