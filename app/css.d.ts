/// <reference types="vite/types/importMeta.d.ts" />
/** Style sheets are imported for their effect; Vite bundles them with the screen that asks. */
declare module '*.css'
