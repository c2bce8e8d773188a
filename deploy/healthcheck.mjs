// The health check of the container. The image has no curl. Exits with 0 if the server answers.
import { request } from 'node:http'

const port = (process.env.BRANCHLINE_LISTEN ?? '127.0.0.1:8080').split(':').at(-1)
const options = { host: '127.0.0.1', port, path: '/healthz', timeout: 4000 }

const check = request(options, (response) => {
  response.resume()
  process.exitCode = response.statusCode === 200 ? 0 : 1
})
check.on('timeout', () => check.destroy(new Error('no answer within 4 seconds')))
check.on('error', (error) => {
  console.error(error.message)
  process.exitCode = 1
})
check.end()
