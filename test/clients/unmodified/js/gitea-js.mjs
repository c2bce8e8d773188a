import { giteaApi } from 'gitea-js'
import { tokens, url } from './calls.mjs'
import { makeCalls } from './forge-calls.mjs'

await makeCalls((username) => giteaApi(url, { token: tokens[username] }))
