import './ui/tokens.css'
import './ui/base.css'
import './ui/app.css'
import './shell/shell.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { lagSummary, resetLag } from './data/lag.ts'
import { liveSource } from './data/live.ts'
import { queryClient, refreshFrom } from './data/queries.ts'
import { ring, watch } from './data/store.ts'
import { takeToken } from './data/token.ts'
import { router } from './router.tsx'

takeToken()
watch(liveSource, refreshFrom)

/** Read by the benchmark of event to pixel; nothing in the page depends on it. */
Object.assign(window, { quorumscope: { lagSummary, resetLag, events: () => ring.next } })

createRoot(document.getElementById('page')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
